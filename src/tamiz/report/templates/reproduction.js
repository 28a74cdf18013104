// ---- copy buttons; if the browser denies the clipboard, the code is selected instead

all("[data-copy]").forEach((button) => {
  const code = byId(button.dataset.copy).querySelector("code");
  button.hidden = false;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("blur", () => { button.textContent = "Copy"; });
  button.addEventListener("click", async () => {
    const copied = await copyText(code.textContent);
    if (!copied) getSelection().selectAllChildren(code);
    button.textContent = copied ? "Copied" : "Selected: press Ctrl+C";
  });
});
