# Sourced by tools/test and peers.sh. If the user has not selected a Vulkan driver, use
# Mesa's lavapipe, so that results are equal on every machine. ADAPTER=any leaves the
# selection to the program, which prefers a real GPU.
if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && [ "${ADAPTER:-}" != any ]; then
	for lavapipe in /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json; do
		if [ -f "$lavapipe" ]; then
			export VK_DRIVER_FILES="$lavapipe" VK_ICD_FILENAMES="$lavapipe"
			break
		fi
	done
fi
