import { serve } from "./raw.mjs";

process.stdout.write("*** Odd Server 1.0 ***\n\nlistening on stdio\n");
serve({ "server/discover": () => process.stdout.write("debug: ignored server/discover\n") });
