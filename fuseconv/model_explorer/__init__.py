"""What Model Explorer, Google's viewer of graphs, shows of a file that fuseconv wrote. It is no dependency."""
