// Writes the examples that documents quote into them again: npm run docs.
import { readFileSync, writeFileSync } from "node:fs";
import { listFiles, withCurrentQuotes } from "./markdown.ts";

for (const path of listFiles(".md")) {
  const text = readFileSync(path, "utf8");
  const current = withCurrentQuotes(text);
  if (current === text) continue;
  writeFileSync(path, current);
  console.log(`${path}: updated`);
}
