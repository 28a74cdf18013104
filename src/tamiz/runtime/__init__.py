"""What every package uses: validation, warnings, random draws, threads, memory, progress, registries."""
