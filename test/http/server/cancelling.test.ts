import { runRequirements } from "./requirement.ts";
import { cancelling } from "./sections/cancelling.ts";

runRequirements("cancelling", cancelling);
