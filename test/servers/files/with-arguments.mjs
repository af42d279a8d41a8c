// Runs a program with arguments from the environment, for clients that can be given a script only.
process.argv.push(...JSON.parse(process.env.PROGRAM_ARGUMENTS ?? "[]"));
await import(process.env.PROGRAM ?? "");
