// ---- a crowded lattice is printed as its table, which must be open

for (const sets of all(".crowded details")) addEventListener("beforeprint", () => { sets.open = true; });
