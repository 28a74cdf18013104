"""The steps of a study, a file each: what it finds, as the records of a `Result`."""
