// SPDX-License-Identifier: GPL-2.0-or-later
// What belongs to this phone and not to tactus: its own click, its screen, how it looks, whether it is paired.
import { Calibration } from "./click.js";
import { make, memory, short, tell, toast } from "./desk.js";
import { on, struck, whileHeld } from "./hands.js";

function line(name, help, ...controls) {
	const id = `d${name.replace(/\W+/g, "-").toLowerCase()}`;
	controls[0].setAttribute("aria-labelledby", id);
	return make(
		"div",
		{ class: "row" },
		make("div.line", {}, make("span.name", { id }, name), ...controls),
		help && make("p.help", {}, help),
	);
}

function toggle(id, isOn, fn) {
	const box = make("button.switch", { role: "switch", id, "aria-checked": String(isOn) });
	on(box, "click", () => {
		const on = box.getAttribute("aria-checked") !== "true";
		box.setAttribute("aria-checked", String(on));
		fn(on);
	});
	return box;
}

// A fader with its number beside it, and with what moves it by one.
function slide(name, help, id, [min, max, step], value, write, fn) {
	const box = make("input", { type: "range", id, min: String(min), max: String(max), step: String(step), value: String(value) });
	const told = make("output.value");
	const set = (now) => {
		box.value = now;
		told.value = write(Number(box.value));
		box.setAttribute("aria-valuetext", told.value);
		fn(Number(box.value));
	};
	on(box, "input", () => set(box.value));
	const row = line(name, help, box);
	const by = (one, sign, words) => {
		const button = make("button", { "aria-label": `${name}: ${words}` }, sign);
		whileHeld(button, () => set(Number(box.value) + one));
		return button;
	};
	const steps = max > 1 ? [by(-1, "−", "less"), by(1, "+", "more")] : [];
	row.firstChild.append(make("span.slide counter", {}, ...steps.slice(0, 1), box, ...steps.slice(1), told));
	set(value);
	return { row, set };
}

export function phoneClickCard(click, clock, session) {
	const keep = (name, value) => {
		click[name] = value;
		memory.set(`click ${name}`, value);
		click.revise();
	};
	const offset = slide(
		"Earlier by",
		"If you hear this device late, send its click this much earlier. Bluetooth needs some 200 ms.",
		"phone-offset",
		[-100, 500, 0.5],
		memory.get("click offset", 0),
		(value) => `${short(value, 1)} ms`,
		(value) => keep("offset", value),
	);
	const volume = slide("Its volume", "", "phone-volume", [0, 1, 0.01], memory.get("click volume", 0.8), (value) => `${Math.round(value * 100)} %`, (value) => keep("volume", value));
	const power = toggle("phone-click", false, (on) => click.turn(on).catch(() => toast("This browser has no sound for a page.")));
	return card("This phone as a click", [
		line("This phone clicks", "It plays tactus' pattern by this device's own loudspeaker or headphones.", power),
		volume.row,
		offset.row,
		calibration(click, clock, session, offset.set),
	]);
}

function calibration(click, clock, session, set) {
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
		if (!click.isOn) return toast("First let this phone click.");
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
		set(value);
		toast(`This phone now clicks ${short(value, 1)} ms earlier.`);
	});
	return row;
}

export function card(title, rows, id) {
	return make("div.card", { ...(id ? { id } : {}) }, make("h3", {}, title), ...rows);
}

// How the page sees tactus, and how it behaves.
export function pageCard(clock, connection, awake) {
	const way = make("output.value", { id: "round-trip" }, "–");
	const sure = make("output.value", {}, "–");
	setInterval(() => {
		if (!way.offsetParent || !clock.line) return;
		way.value = connection.isLive ? `${short(clock.roundTrip, 1)} ms` : "none";
		sure.value = `±${short(clock.errorAt(performance.now()), 1)} ms`;
	}, 500);
	const look = make("select.box", { id: "look" });
	look.append(make("option", { value: "" }, "as the device"), make("option", { value: "dark" }, "dark room"), make("option", { value: "light" }, "sunlight"));
	look.value = memory.get("look", "");
	on(look, "change", () => {
		memory.set("look", look.value);
		dispatchEvent(new Event("look"));
	});
	awake.want(memory.get("awake", true));
	return card("This page", [
		line("The beat is known to", "Half the quickest way to tactus and back; the screen and the ear come on top.", sure),
		line("Way to tactus and back", "", way),
		line(
			"The screen stays on",
			"",
			toggle("stay-awake", awake.isWanted, (on) => {
				memory.set("awake", on);
				awake.want(on);
			}),
		),
		line("Light", "", look),
	]);
}
