// Writes to a file storage without an end, and says what was acknowledged: one number for each write.
import { createFileStorage } from "portolan/storage/node";

const [folder = "", size = "0"] = process.argv.slice(2);
const storage = createFileStorage(folder);
const filler = "x".repeat(Number(size));
for (let number = 0; ; number += 1) {
  try {
    await Promise.all([storage.kv.set(`k${number}`, `${number}${filler}`), storage.log.append("l", String(number))]);
    process.stdout.write(`${number}\n`);
  } catch (error) {
    process.stdout.write(`failed: ${error.message}\n`);
    // Room for the rest: what is deleted needs no place in the next journal.
    for (let gone = 0; gone < number; gone += 1) await storage.kv.delete(`k${gone}`).catch(() => {});
    await storage.kv.set("after", "the disk had room again");
    process.stdout.write("works again\n");
  }
}
