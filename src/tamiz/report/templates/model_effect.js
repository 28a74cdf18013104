// ---- lines of models: band, line and dashed line of one model have one colour

painters.set("models", {
  ready: () => Promise.resolve(),
  figure(plot, base, layout, theme) {
    const data = structuredClone(base.data);
    data.forEach((trace) => {
      const colour = theme.levels[trace.meta.level % theme.levels.length];
      trace.line.color = colour;
      if (trace.fill) trace.fillcolor = `${colour}26`;
    });
    return { data, layout };
  },
  done: () => {},
  release: () => {},
});
