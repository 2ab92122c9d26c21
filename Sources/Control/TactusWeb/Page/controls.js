// SPDX-License-Identifier: GPL-2.0-or-later
// A control for each row of tactus' table, by the row's type, range, unit and words.
import { make, refuse, short } from "./desk.js";
import { on, whileHeld } from "./hands.js";

// Milliseconds after a touch during which a control is not moved.
const hold = 1000;

let number = 0;

const locked = /^(tempo|meter|quantum)(\/|$)/;

// A line of a list: name, control, help. A full line shows the help and the address at once.
export function lineOf(desk, row, { name = row.title, isFull = false, shows = null } = {}) {
	const id = `c${(number += 1)}`;
	const head = make("span.name", {}, make("span", { id }, name));
	const line = make("div.line", {}, head, controlOf(desk, row, { id, name, shows }));
	const help = make("p.help", { id: `${id}-help`, hidden: !isFull }, row.words.replaceAll("-", "-\u2060"));
	if (isFull) help.append(make("code.address", {}, row.path));
	if (!isFull && row.words) {
		const ask = make("button.ask", { "aria-expanded": "false", "aria-controls": help.id, "aria-label": `About ${name}` });
		on(ask, "click", () => {
			help.hidden = !help.hidden;
			ask.setAttribute("aria-expanded", String(!help.hidden));
		});
		head.append(ask);
	}
	const box = make("div.row", { "data-address": row.path }, line, help);
	if (locked.test(row.path) && row.kind !== "reading") for (const one of box.querySelectorAll("[data-control]")) one.dataset.locks = "";
	return box;
}

function controlOf(desk, row, about) {
	if (row.kind === "trigger") return trigger(desk, row, about);
	if (row.kind !== "value" && row.kind !== "order") return reading(desk, row);
	const [first] = row.parameters;
	if (row.kind === "order" || row.parameters.length > 1 || first.kind === "text") return several(desk, row, about);
	if (first.kind === "flag") return flag(desk, row, about);
	if (first.kind === "word") return segments(desk, row, about);
	return numeric(desk, row, about);
}

// An input element, labelled with its row's name.
const control = (kind, id, more) => make(kind, { "aria-labelledby": id, "data-control": "", ...more });

// Shows tactus' value in a control; under a finger, only after the touch.
export function follow(desk, path, show) {
	let until = 0;
	let timer = 0;
	const update = () => {
		const left = until - performance.now();
		clearTimeout(timer);
		if (left > 0) timer = setTimeout(update, left);
		else if (desk.values.has(path)) show(desk.values.get(path));
	};
	desk.watch(path, update);
	const turn = (time) => {
		until = time;
		update();
	};
	const back = () => turn(0);
	const touch = () => turn(performance.now() + hold);
	// After a refusal the control returns to tactus' value.
	const choose = (values, by) => {
		touch();
		if (!desk.order(path, values, by)) back();
	};
	return { touch, choose, back };
}

function flag(desk, row, { id }) {
	const box = control("button.switch", id, { role: "switch", "aria-checked": "false" });
	const show = (isOn) => box.setAttribute("aria-checked", String(isOn));
	const following = follow(desk, row.path, ([value]) => show(value >= 0.5));
	on(box, "click", () => {
		const isOn = box.getAttribute("aria-checked") !== "true";
		show(isOn);
		following.choose([isOn ? 1 : 0], box);
	});
	return box;
}

function segments(desk, row, { id }) {
	const box = make("fieldset.segments", { "aria-labelledby": id });
	const name = `${id}-words`;
	const radios = row.parameters[0].words.map((word) => make("input", { type: "radio", name, value: word, "data-control": "" }));
	const following = follow(desk, row.path, ([value]) => radios.forEach((one) => (one.checked = one.value === value)));
	for (const one of radios) {
		on(one, "change", () => following.choose([one.value], box));
		box.append(make("label", {}, one, make("span", {}, one.value)));
	}
	return box;
}

// The typed number; null after a message if it is not a number or out of range.
function typed(box, { least, most, unit, kind }) {
	if (kind === "text") return box.value;
	const value = Number(box.value.trim().replace(",", ".").replace("−", "-"));
	const isGood = box.value.trim() !== "" && value >= least && value <= most && (kind !== "whole" || Number.isInteger(value));
	if (isGood) return value;
	refuse(box, `${box.value.trim() || "Nothing"} is not allowed here: ${kind === "whole" ? "whole numbers, " : ""}${short(least)} to ${short(most)}${unit ? ` ${unit}` : ""}.`);
	return null;
}

const rounded = (value) => (typeof value === "number" ? Number(value.toFixed(3)) : value);

function numberBox(parameter, label) {
	const { kind, least } = parameter;
	const isText = kind === "text";
	const inputmode = isText || least < 0 ? "text" : kind === "whole" ? "numeric" : "decimal";
	return make(isText ? "input.box text" : "input.box", { inputmode, autocomplete: "off", autocapitalize: "off", spellcheck: false, "data-control": "", ...label });
}

// The control of a number: a field to type it, plus and minus if it is whole or in milliseconds, and a fader
// if it is not whole. The fader sends at most thirty times a second.
function numeric(desk, row, { id, name, shows }) {
	const [parameter] = row.parameters;
	const { least, most, unit, kind } = parameter;
	const span = most - least;
	// In steps of one; but 3.5 beats may be typed.
	const isWhole = kind === "whole" || unit === "beats";
	// The handle's position says more than the number.
	const isFader = span <= 1;
	const box = isFader ? make("output") : numberBox(parameter, { "aria-labelledby": id });
	const parts = [box];
	const range = !isWhole && span <= 1000 && control("input", id, { type: "range", min: String(least), max: String(most), step: span <= 1 ? "0.005" : span <= 200 ? "0.1" : "0.5" });
	const show = (value) => {
		if (range) range.value = value;
		if (!isFader) document.activeElement !== box && (box.value = rounded(value));
		else if (!shows) box.value = `${Math.round(value * 100)} %`;
	};
	const following = follow(desk, row.path, ([value]) => show(value));
	const set = (value, by) => {
		if (value < least || value > most) return false;
		following.choose([value], by);
		show(value);
		return true;
	};
	if (!isFader) {
		on(box, "change", () => {
			const value = typed(box, parameter);
			if (value === null) following.back();
			else set(value, box);
		});
		on(box, "blur", () => setTimeout(following.back, hold));
	}
	if (isWhole || (range && unit === "ms")) {
		const button = (sign, by, words) => {
			const one = make("button", { "aria-label": `${name}: ${words}`, "data-control": "" }, sign);
			whileHeld(one, () => {
				const isSet = set(Number(box.value) + by, one);
				box.value = Number(box.value) + (isSet && document.activeElement === box ? by : 0);
				return isSet;
			});
			return one;
		};
		parts.unshift(button("−", -1, "less"));
		parts.push(button("+", 1, "more"));
	}
	if (range) {
		let timer = 0;
		on(range, "input", () => {
			show(Number(range.value));
			following.touch();
			timer ||= setTimeout(() => {
				timer = 0;
				following.choose([Number(range.value)], range);
			}, 33);
		});
	}
	if (shows) {
		desk.watch(shows, ([value]) => {
			box.value = value <= -90 ? "silent" : `${short(value, 1)} dB`;
			range.setAttribute("aria-valuetext", box.value);
		});
	}
	if (unit) parts.push(make("span.unit-after", {}, unit));
	return make("span.slide", {}, make("span.several counter", {}, ...parts), range || "");
}

// Several fields that are sent together: text, 7 and 8 for the meter, two tempos for a range. A command has a
// button that sends its fields.
function several(desk, row, { name }) {
	const { path, parameters } = row;
	const boxes = parameters.map((parameter, n) =>
		numberBox(parameter, { "aria-label": parameters.length > 1 ? `${name}, ${n + 1} of ${parameters.length}` : name, "data-argument": String(n) }),
	);
	const following =
		row.kind === "value" &&
		follow(desk, path, (values) => boxes.forEach((box, n) => document.activeElement !== box && (box.value = rounded(values[n]))));
	const send = (by) => {
		const values = boxes.map((box, n) => typed(box, parameters[n]));
		if (values.includes(null)) following && following.back();
		else if (following) following.choose(values, by);
		else desk.order(path, values, by);
	};
	if (following) {
		for (const box of boxes) {
			on(box, "change", () => send(box));
			on(box, "blur", following.back);
		}
		return make("span.several", {}, ...boxes);
	}
	const go = make("button.action", { "aria-label": `${name}: send`, "data-control": "" }, "Send");
	on(go, "click", () => send(go));
	for (const box of boxes) on(box, "keydown", (event) => event.key === "Enter" && go.click());
	return make("span.several", {}, ...boxes, parameters[0]?.unit ?? "", go);
}

function trigger(desk, row, { name }) {
	const word = row.path.split("/").pop();
	const box = make("button.action", { "aria-label": name, "data-control": "" }, word[0].toUpperCase() + word.slice(1));
	if (row.value) desk.watch(row.path, ([value]) => box.classList.toggle("lit", value >= 0.5));
	on(box, "click", () => {
		if (row.path === "quit" && !confirm("Really end tactus?")) return;
		desk.order(row.path, [1], box);
	});
	return box;
}

function reading(desk, row) {
	const box = make("output.value", { "aria-live": "off" }, "–");
	desk.watch(row.path, (values) => {
		box.value = values
			.map((value, n) => {
				const { kind, unit } = row.parameters[n] ?? {};
				if (kind === "flag") return value >= 0.5 ? "yes" : "no";
				return typeof value === "number" ? `${short(value)}${unit ? ` ${unit}` : ""}` : value || "–";
			})
			.join(" · ");
	});
	return box;
}
