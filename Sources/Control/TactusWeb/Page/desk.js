// SPDX-License-Identifier: GPL-2.0-or-later
// The page's store: the last value of each address, the functions that watch it, and the orders to tactus. If
// an order cannot be sent, the user sees why.

export const watching = "Watching only. To change things, scan the code that tactus shows.";

export const $ = (id) => document.getElementById(id);

export class Desk {
	values = new Map();
	watchers = new Map();
	isPaired = true;
	// The reason why orders are blocked although tactus hears us.
	warning = "";
	connection = null;

	// Calls fn(values, path) with the known values, and on each change.
	watch(path, fn) {
		if (!this.watchers.has(path)) this.watchers.set(path, new Set());
		this.watchers.get(path).add(fn);
		if (this.values.has(path)) fn(this.values.get(path), path);
	}

	// Forgets the values and the watchers of the removed addresses, for which `isGone` is true.
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

	// Whether an order may be sent. If not, the reason is shown at the touched control `by`.
	mayOrder(by = null) {
		if (this.isPaired && this.connection.isLive && !this.warning) return true;
		refuse(by, !this.isPaired ? watching : this.connection.isLive ? this.warning : "Not connected: nothing was changed.");
		return false;
	}

	// Returns true if the order was sent.
	order(path, values = [], by = null) {
		return this.mayOrder(by) && this.connection.send(path, values);
	}
}

const toasts = [];

// Shows a text for a while. A screen reader reads it out once.
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

// Tells screen readers the newest message only.
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

// The browser's storage, which some browsers refuse.
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
			// Without storage, the value holds until the page is closed.
		}
	},
};

// Makes an element from "kind.classes", attributes or properties, and children.
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

// The number as text, without trailing zeros.
export function short(number, digits = 2) {
	return String(Number(Number(number).toFixed(digits))).replace("-", "−");
}
