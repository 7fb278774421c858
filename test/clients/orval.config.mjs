// Run in the directory of the generated files. BASE_URL is replaced by the test.
export default {
    api: { input: "openapi.json", output: { target: "orval.ts", client: "fetch", mode: "single", baseUrl: "BASE_URL" } },
    zod: { input: "openapi.json", output: { target: "orval-zod.ts", client: "zod", mode: "single" } },
};
