import { serve } from "./raw.mjs";

serve({ "server/discover": () => {} });
