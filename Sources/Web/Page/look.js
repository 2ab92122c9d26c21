// SPDX-License-Identifier: GPL-2.0-or-later
// Before the first paint: light or dark, as this browser was told, else as the device is.
"use strict";
{
	const light = matchMedia("(prefers-color-scheme: light)");
	const dress = () => {
		let look;
		try {
			look = JSON.parse(localStorage.getItem("tactus look"));
		} catch {}
		document.documentElement.dataset.theme = { "dark room": "dark", sunlight: "light" }[look] || (light.matches ? "light" : "dark");
	};
	light.addEventListener("change", dress);
	addEventListener("look", dress);
	dress();
}
