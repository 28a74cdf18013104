// ---- images

// A byte is a step of grey.
all("canvas[data-pixels]").forEach((canvas) => {
  const bytes = Uint8Array.from(atob(canvas.dataset.pixels), (c) => c.charCodeAt(0));
  const image = new ImageData(canvas.width, canvas.height);
  bytes.forEach((grey, i) => image.data.set([grey, grey, grey, 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
});
