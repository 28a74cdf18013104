"""The records of a result: one frozen dataclass per section of the report, written to JSON and read back by `codec`."""
