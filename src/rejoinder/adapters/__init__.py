"""rejoinder in the frameworks that people already have; one module and one extra for each."""
