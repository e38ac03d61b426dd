"""What needs several rooms, once for every door. Knows no client by name."""
