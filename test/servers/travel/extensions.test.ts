import { listSkills, openSkill, readSkillFile } from "portolan/client/skills";
import { startTool, tasks } from "portolan/client/tasks";
import { connectInMemory } from "portolan/testing";
import { createTravel } from "portolan-travel";
import { expect, onTestFinished, test } from "vitest";

const booking = { flight: "PT411", date: "2024-06-15" };
const answers = {
  elicit: () => ({ action: "accept" as const, content: { confirmBooking: true, seatPreference: "window" } }),
};

test.each(["2025-11-25", "2026-07-28"])("a flight is booked as a task, with its form (%s)", async (revision) => {
  const client = await connectInMemory(createTravel({ stepMs: 0 }), { revision, extensions: [tasks()], answers });
  onTestFinished(() => client.close());
  const task = await startTool(client, "bookFlight", booking);
  expect(task.ref?.tool).toBe("bookFlight");
  const result = await task.result;
  expect(result.structuredContent).toMatchObject({ status: "booked", booking: "BK-0001" });
  const { contents } = await client.readResource("travel://itinerary");
  expect(JSON.parse((contents[0] as { text: string }).text).bookings).toHaveLength(1);
});

test("the skill for planning is verified, with its file", async () => {
  const client = await connectInMemory(createTravel());
  onTestFinished(() => client.close());
  const listed = await listSkills(client);
  expect(listed.map(({ uri }) => uri)).toEqual(["skill://travel/vacation-planning/SKILL.md"]);
  const { skill } = await openSkill(client, "skill://travel/vacation-planning/SKILL.md");
  const file = await readSkillFile(client, skill, "skill://travel/vacation-planning/references/after-booking.md");
  expect(file.text).toContain("# After the booking");
});
