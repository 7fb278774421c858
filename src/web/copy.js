// A copy button beside each input of the class "secret". Everything works without it.
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
            button.textContent = "Selected: copy it with your keyboard";
        }
    });
    const said = document.createElement("p");
    said.setAttribute("role", "status");
    said.append(button);
    input.after(said);
}
