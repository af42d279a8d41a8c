process.stderr.write("reading the settings\nError: DATABASE_URL is not set\n");
process.exitCode = 3;
