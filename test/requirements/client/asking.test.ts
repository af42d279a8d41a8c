import { runRequirements } from "./requirement.ts";
import { asking } from "./sections/asking.ts";
import { forms } from "./sections/forms.ts";
import { sampling } from "./sections/sampling.ts";

runRequirements("requests of the server", asking);
runRequirements("sampling", sampling);
runRequirements("elicitation", forms);
