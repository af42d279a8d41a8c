import { runRequirements } from "./requirement.ts";
import { sessions } from "./sections/sessions.ts";

runRequirements("sessions", sessions);
