"""Two detectors: where they disagree, and whether answers of one hold in the other."""
