// Checks Python files with Ruff. Usage: node check.mjs MODULE_DIRECTORY FILE...
// Prints FILE:LINE: CODE message for each finding and exits with 1 if there is one.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, ...files] = process.argv.slice(2);
const ruff = createRequire(`${modules}/`)("@astral-sh/ruff-wasm-nodejs");

const workspace = new ruff.Workspace(
  {
    "line-length": 140,
    "target-version": "py311",
    lint: {
      select: ["E", "F", "W", "B", "C4", "PIE", "PLE", "RET", "SIM", "UP"],
      // B023 and B007 report closures and loop variables that the tests use at once. The rest are matters of taste, where the
      // code reads no better after the change.
      ignore: [
        "E501", "E731", "B007", "B017", "B023", "B028", "B905", "C408", "RET501", "RET503", "RET505", "SIM105", "SIM108", "SIM114", "SIM115",
        "SIM117", "UP015", "UP017", "UP033",
      ],
    },
  },
  ruff.PositionEncoding.Utf32,
);

let found = 0;
for (const file of files) {
  for (const finding of workspace.check(readFileSync(file, "utf8"))) {
    console.log(`${file}:${finding.start_location.row}: ${finding.code} ${finding.message}`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
