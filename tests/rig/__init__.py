"""The machinery below the tests: a real PostgreSQL, started here and gone afterwards."""
