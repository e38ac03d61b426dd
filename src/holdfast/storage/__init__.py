"""Where rows live: the two engines behind one seam, migrations, the outbox and the spool."""
