// SPDX-License-Identifier: GPL-2.0-or-later
// The settings of this device, not of tactus: its click, its screen, its look. They look like tactus' rows
// and have a desk of their own.
import { Calibration } from "./click.js";
import { lineOf } from "./controls.js";
import { Desk, make, memory, short, tell, toast } from "./desk.js";
import { on, struck } from "./hands.js";

// No order leaves the browser, which keeps the chosen values.
class Device extends Desk {
	order(path, [value]) {
		memory.set(path, value);
		this.take(path, [value]);
		return true;
	}

	line(path, name, words, value, parameter, kind = "value") {
		this.take(path, [value]);
		const line = lineOf(this, { path, kind, parameters: [parameter], words }, { name });
		(line.querySelector("[type=range]") ?? line.querySelector("button:not(.ask),output,input")).id = path;
		return line;
	}

	kept(path, name, words, value, parameter) {
		return this.line(path, name, words, memory.get(path, value), parameter);
	}
}

const device = new Device();
const flag = { kind: "flag" };

export function phoneClickCard(click, clock, session) {
	const card = cardOf("This phone as a click", [
		device.line("phone-click", "This phone clicks", "Plays tactus' click pattern on this device's loudspeaker or headphones.", 0, flag),
		device.kept("phone-volume", "Its volume", "", 0.8, { kind: "fader", least: 0, most: 1 }),
		device.kept("phone-offset", "Earlier by", "If you hear this device late, send its click this much earlier. Bluetooth needs some 200 ms.", 0, {
			kind: "number",
			unit: "ms",
			least: -100,
			most: 500,
		}),
		calibration(click, clock, session),
	]);
	device.watch("phone-click", ([isOn]) => click.turn(isOn === 1).catch(() => toast("This browser cannot play sound for a page.")));
	for (const name of ["volume", "offset"])
		device.watch(`phone-${name}`, ([value]) => {
			click[name] = value;
			click.revise();
		});
	return card;
}

function calibration(click, clock, session) {
	const start = make("button.action", { id: "calibrate" }, "Calibrate by tapping");
	const pad = make("button.pad calibrate-pad", { id: "calibrate-pad" }, make("b", {}, "Tap"), make("small"));
	const skip = make("button.action", { id: "calibrate-skip" });
	const box = make("div", { hidden: true }, pad, skip);
	const row = make("div.row", {}, make("div.line", {}, start), box);
	let run = null;
	const say = () => {
		const [title, small] = pad.children;
		title.textContent = run.step === 0 ? "Tap with the room" : "Tap with this phone";
		small.textContent = `${run.left} more`;
		skip.textContent = run.step === 0 ? "The room is silent: skip" : "Stop";
	};
	const end = () => {
		box.hidden = true;
		start.parentNode.hidden = false;
		click.isMuted = false;
		run = null;
	};
	const next = () => {
		run.step = 1;
		click.isMuted = false;
		say();
		tell("Now tap with the click of this phone.");
	};
	on(start, "click", () => {
		if (!click.isOn) return toast("First switch on: This phone clicks.");
		if (!session.timeline || clock.hostAt(performance.now()) === null) return toast("Not connected.");
		run = new Calibration(clock, session);
		click.isMuted = true;
		box.hidden = false;
		start.parentNode.hidden = true;
		say();
		tell("Tap with the sound in the room. This phone is silent meanwhile.");
	});
	on(skip, "click", () => (run.step === 0 ? next() : end()));
	struck(pad, (at) => {
		if (!run) return;
		const isComplete = run.tap(at);
		if (!isComplete) return say();
		if (run.step === 0) return next();
		const value = Math.round(run.result(click.offset) * 2) / 2;
		end();
		device.order("phone-offset", [value]);
		toast(`This phone now clicks ${short(value, 1)} ms earlier.`);
	});
	return row;
}

export function cardOf(title, rows) {
	return make("div.card", {}, make("h3", {}, title), ...rows);
}

// The page's connection to tactus, and its behaviour.
export function pageCard(clock, connection, awake) {
	const ms = { unit: "ms" };
	const told = (path, name, words = "") => device.line(path, name, words, "", ms, "reading");
	const card = cardOf("This page", [
		told("known", "The beat is exact to within", "Half the fastest round trip to tactus. The delay of the screen and of the sound is not included."),
		told("round-trip", "Round trip to tactus"),
		device.kept("stay-awake", "The screen stays on", "", 1, flag),
		device.kept("look", "Light", "", "as the device", { kind: "word", words: ["as the device", "dark room", "sunlight"] }),
	]);
	setInterval(() => {
		if (!card.offsetParent || !clock.line) return;
		device.take("round-trip", [connection.isLive ? Number(clock.roundTrip.toFixed(1)) : "none"]);
		device.take("known", [Number(clock.errorAt(performance.now()).toFixed(1))]);
	}, 500);
	device.watch("stay-awake", ([isOn]) => awake.want(isOn === 1));
	device.watch("look", () => dispatchEvent(new Event("look")));
	return card;
}
