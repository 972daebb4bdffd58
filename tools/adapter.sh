# Sourced by tools/test and peers.sh: where the user has not chosen a Vulkan
# driver, take Mesa's lavapipe, so that results are the same on every machine.
# ADAPTER=any leaves the choice to the program, which prefers a real GPU.
if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && [ "${ADAPTER:-}" != any ]; then
	for lavapipe in /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json; do
		if [ -f "$lavapipe" ]; then
			export VK_DRIVER_FILES="$lavapipe" VK_ICD_FILENAMES="$lavapipe"
			break
		fi
	done
fi
