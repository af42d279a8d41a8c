import { runRequirements } from "./requirement.ts";
import { batches } from "./sections/batches.ts";

runRequirements("batches", batches);
