"""The steps of a study, a file each: what it finds, as the plain names and numbers of a `Result`."""
