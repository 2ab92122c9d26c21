// SPDX-License-Identifier: GPL-2.0-or-later
// What the page knows and how it speaks: the last value of each address, who wants to hear of it, and orders, which are never lost
// in silence.

export const watching = "Watching only. To change things, scan the code that tactus shows.";

export const $ = (id) => document.getElementById(id);

export class Desk {
	values = new Map();
	watchers = new Map();
	isPaired = true;
	// Why nothing is ordered although tactus hears it.
	warning = "";
	connection = null;

	// fn(values, path) with what is known now, and whenever it changes.
	watch(path, fn) {
		if (!this.watchers.has(path)) this.watchers.set(path, new Set());
		this.watchers.get(path).add(fn);
		if (this.values.has(path)) fn(this.values.get(path), path);
	}

	// Whoever watches what is gone.
	forget(isGone) {
		for (const paths of [this.values, this.watchers]) for (const path of paths.keys()) if (isGone(path)) paths.delete(path);
	}

	take(path, values) {
		this.values.set(path, values);
		for (const fn of this.watchers.get(path) ?? []) fn(values, path);
	}

	value(path, otherwise) {
		return this.values.get(path)?.[0] ?? otherwise;
	}

	// false: that is said. `by`: the control that was touched, which shows it.
	mayOrder(by = null) {
		if (this.isPaired && this.connection.isLive && !this.warning) return true;
		refuse(by, !this.isPaired ? watching : this.connection.isLive ? this.warning : "Not connected: nothing was changed.");
		return false;
	}

	// true: it is on its way.
	order(path, values = [], by = null) {
		return this.mayOrder(by) && this.connection.send(path, values);
	}
}

const toasts = [];

// Seen for a while, and read out once.
export function toast(text) {
	const place = $("toasts");
	const last = toasts[toasts.length - 1];
	if (last?.isConnected && last.textContent === text) return;
	const box = make("p.toast", {}, text);
	place.append(box);
	toasts.push(box);
	while (toasts.length > 3) toasts.shift().remove();
	setTimeout(() => box.remove(), 4500);
	tell(text);
}

let telling = 0;
let toldLast = "";

// For screen readers: the newest only.
export function tell(text) {
	clearTimeout(telling);
	telling = setTimeout(() => {
		const place = $("said");
		place.textContent = text === toldLast ? `${text}\u00a0` : text;
		toldLast = place.textContent;
	}, 350);
}

export function refuse(element, words) {
	toast(words);
	if (!element) return;
	element.classList.remove("refused");
	void element.offsetWidth;
	element.classList.add("refused");
	setTimeout(() => element.classList.remove("refused"), 1200);
}

// What this browser remembers by itself; some do not let it.
export const memory = {
	get(name, otherwise) {
		try {
			return JSON.parse(localStorage.getItem(`tactus ${name}`)) ?? otherwise;
		} catch {
			return otherwise;
		}
	},
	set(name, value) {
		try {
			localStorage.setItem(`tactus ${name}`, JSON.stringify(value));
		} catch {
			// Then it holds until the page is closed.
		}
	},
};

// "kind.its classes", attributes or properties, children.
export function make(kind, attributes = {}, ...children) {
	const [name, classes = ""] = kind.split(".");
	const element = document.createElement(name);
	element.className = classes;
	for (const [name, value] of Object.entries(attributes)) {
		if (name in element && typeof value !== "string") element[name] = value;
		else element.setAttribute(name, value);
	}
	element.append(...children);
	return element;
}

// Without digits for nothing.
export function short(number, digits = 2) {
	return String(Number(Number(number).toFixed(digits))).replace("-", "−");
}
