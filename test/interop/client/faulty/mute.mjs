import { serve } from "./raw.mjs";

serve({ initialize: () => {} });
