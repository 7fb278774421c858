// Adds a copy button to each input of class "secret". The page works without this script.
for (const input of document.querySelectorAll("input.secret")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        input.focus();
        input.select();
        try {
            await navigator.clipboard.writeText(input.value);
            button.textContent = "Copied";
        } catch {
            button.textContent = "Selected: press Ctrl+C to copy";
        }
    });
    const status = document.createElement("p");
    status.setAttribute("role", "status");
    status.append(button);
    input.after(status);
}
