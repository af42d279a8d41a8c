// @ts-check
// The travel server with one more prompt: /story in the chats of `npm start`.
import { serveStdio } from "portolan/server/stdio";
import { createTravel } from "portolan-travel";

serveStdio(
  createTravel({ stepMs: 100 }).prompt("story", {
    title: "The travel story",
    description: "Plans and books a vacation in Barcelona with the travel, weather and calendar servers",
    get: () =>
      "Plan a vacation in Barcelona for 2 travelers from NYC. I leave on 2024-06-15 and return on 2024-06-22. The budget is 3000 dollars. Look at my calendar, my preferences and my past trips, search flights, check the weather, find the best flight, and book it with a hotel. Add the trip to my calendar, and write to team@work.com that I am out of office.",
  }),
);
