import { serve } from "./raw.mjs";

serve({
  "server/discover": () => {
    process.stderr.write("what is server/discover?\n");
    process.exit(1);
  },
});
