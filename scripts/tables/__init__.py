"""What scripts/reproduce makes again: `pages` finds and compares tables of the documents, `entries` lists them, the others measure."""
