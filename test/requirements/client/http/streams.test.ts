import { runRequirements } from "./requirement.ts";
import { streams } from "./sections/streams.ts";

runRequirements("streams", streams);
