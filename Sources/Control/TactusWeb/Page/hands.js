// SPDX-License-Identifier: GPL-2.0-or-later
// Touches of a control: by finger, mouse, key, or a screen reader's click, which has neither beginning nor
// end.

export const on = (element, kinds, fn) => kinds.split(" ").forEach((kind) => element.addEventListener(kind, fn));

// Milliseconds after a touch in which a click is the same touch.
const echo = 400;
const repeat = { first: 400, then: 110, fast: 45, fastAfter: 16 };

// Calls fn(isHeld, event) at the beginning and the end. A click alone counts as both.
export function held(element, fn) {
	let isHeld = false;
	let isDone = false;
	let timer = 0;
	const turn = (now, event) => {
		if (isHeld === now || (now && element.disabled)) return;
		isHeld = now;
		isDone = true;
		clearTimeout(timer);
		if (!now) timer = setTimeout(() => (isDone = false), echo);
		fn(now, event);
	};
	on(element, "pointerdown", (event) => {
		if (event.button === 0) turn(true, event);
	});
	on(element, "pointerup pointercancel pointerleave blur", (event) => turn(false, event));
	on(document, "visibilitychange", (event) => turn(false, event));
	on(element, "keydown", (event) => {
		if (event.key !== " " && event.key !== "Enter") return;
		event.preventDefault();
		if (!event.repeat) turn(true, event);
	});
	on(element, "keyup", (event) => {
		if (event.key !== " " && event.key !== "Enter") return;
		event.preventDefault();
		turn(false, event);
	});
	on(element, "click", (event) => {
		if (!isDone) {
			turn(true, event);
			turn(false, event);
		}
	});
	on(element, "contextmenu", (event) => event.preventDefault());
}

// Calls fn with the time of the touch on this browser's clock, not the time of its handling.
export function struck(element, fn) {
	held(element, (isHeld, event) => isHeld && fn(event.timeStamp));
}

// Repeats while held, faster after a while, until fn returns false.
export function whileHeld(element, fn) {
	let timer = 0;
	let count = 0;
	const again = () => {
		if (element.disabled || fn() === false) return;
		count += 1;
		timer = setTimeout(again, count === 1 ? repeat.first : count > repeat.fastAfter ? repeat.fast : repeat.then);
	};
	held(element, (isHeld) => {
		clearTimeout(timer);
		count = 0;
		if (isHeld) again();
	});
}
