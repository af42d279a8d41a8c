// Runs a program with arguments from the environment, for clients that accept only a script.
process.argv.push(...JSON.parse(process.env.PROGRAM_ARGUMENTS ?? "[]"));
await import(process.env.PROGRAM ?? "");
