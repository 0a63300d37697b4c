"""Files -> documents: their text, and what stands where in it."""
