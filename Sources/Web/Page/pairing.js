// SPDX-License-Identifier: GPL-2.0-or-later
// The QR code carries a secret behind the #, which browsers send to nobody. It is exchanged for a cookie, and leaves the address.

// "paired", "wrong", "later" (too many tries), "unreachable"
export async function pair(secret) {
	try {
		const answer = await fetch("/pair", { method: "POST", body: secret, headers: { "Content-Type": "text/plain" } });
		return answer.ok ? "paired" : answer.status === 429 ? "later" : answer.status === 403 ? "wrong" : "unreachable";
	} catch {
		return "unreachable";
	}
}

// What the address carried; null if nothing.
export function secretInAddress() {
	const secret = location.hash.slice(1);
	if (!secret) return null;
	history.replaceState(null, "", location.pathname);
	return secret;
}

export const words = {
	paired: "Paired. This browser may now change everything.",
	wrong: "That code is not valid any more. Scan the present one.",
	later: "Too many wrong codes. Wait a minute, then scan again.",
	unreachable: "tactus did not answer. Scan the code again when it runs.",
};
