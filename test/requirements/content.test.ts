import { runRequirements } from "./requirement.ts";
import { content } from "./sections/content.ts";

runRequirements("content, annotations, icons and JSON Schema", content);
