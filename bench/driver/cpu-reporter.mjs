// Preloaded into measured children: answers each question of the parent with this process's CPU time in µs.
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
process.channel?.unref();
