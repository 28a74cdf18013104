// ---- copy buttons; if the browser denies the clipboard to pages on disk, the code is selected instead

all("[data-copy]").forEach((button) => {
  const code = byId(button.dataset.copy).querySelector("code");
  const select = () => {
    const range = document.createRange();
    range.selectNodeContents(code);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  const setLabel = (words) => { button.textContent = words; };
  const byHand = () => {
    select();
    // Deprecated, and the only way there is without a secure origin.
    let copied = false;
    try { copied = document.execCommand("copy"); } catch { copied = false; }
    setLabel(copied ? "Copied" : "Selected: press Ctrl+C");
  };
  button.hidden = false;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("blur", () => setLabel("Copy"));
  button.addEventListener("click", () => {
    if (!navigator.clipboard?.writeText) byHand();
    else navigator.clipboard.writeText(code.textContent).then(() => setLabel("Copied"), byHand);
  });
});
