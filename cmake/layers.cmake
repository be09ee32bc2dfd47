# SPDX-License-Identifier: BSD-2-Clause
#
# The layers of docs/ARCHITECTURE.md as library targets, and ways to link with some of them.

set(RIG5_LAYERS base abi lib nic fault kern host soft sim shim)
# No I/O, clock, errno, malloc or stdio in these; tests/tidy checks their objects with nm -u.
set(RIG5_PURE_LAYERS base abi nic fault kern)
set(RIG5_LIBRARY_LAYERS base abi lib nic fault kern host soft)

# What an object of a pure layer must not contain for it to need nothing but memcpy and its kin.
# Not -ffreestanding: it turns the inlining of a fixed-size memcpy off.
set(RIG5_PURE_FLAGS -fno-stack-protector -U_FORTIFY_SOURCE)

# rig5_add_layer(<layer>) - the library rig5_<layer>, an INTERFACE one where there is no source.
# Appends a layer that has sources to RIG5_BUILT_LAYERS.
macro(rig5_add_layer layer)
	file(GLOB layer_sources CONFIGURE_DEPENDS
		${CMAKE_SOURCE_DIR}/${layer}/*.c ${CMAKE_SOURCE_DIR}/${layer}/*/*.c
		${CMAKE_SOURCE_DIR}/${layer}/*.S)
	list(FILTER layer_sources EXCLUDE REGEX "_main\\.c$")
	# The rest of shim/ stands in for libc, and is the preloaded library's alone: cmake/shim.cmake.
	if("${layer}" STREQUAL shim)
		set(shim_sources ${layer_sources})
		list(FILTER layer_sources INCLUDE REGEX "/(tree|keeper|cpus)\\.c$")
	endif()
	if(layer_sources)
		add_library(rig5_${layer} STATIC ${layer_sources})
		target_compile_options(rig5_${layer} PRIVATE -fvisibility=hidden)
		if("${layer}" IN_LIST RIG5_PURE_LAYERS)
			target_compile_options(rig5_${layer} PRIVATE ${RIG5_PURE_FLAGS})
		endif()
		list(APPEND RIG5_BUILT_LAYERS ${layer})
	else()
		add_library(rig5_${layer} INTERFACE)
	endif()
endmacro()

# rig5_link_layers(<target> <layer>...) - links the layers in any order: lib and soft name each
# other (lib/os.h declares the look-up, soft defines it).
function(rig5_link_layers target)
	set(libraries "")
	foreach(layer IN LISTS ARGN)
		if("${layer}" IN_LIST RIG5_BUILT_LAYERS)
			list(APPEND libraries rig5_${layer})
		endif()
	endforeach()
	if(libraries)
		list(JOIN libraries "," group)
		target_link_libraries(${target} PRIVATE "$<LINK_GROUP:RESCAN,${group}>")
	endif()
	target_link_libraries(${target} PRIVATE Threads::Threads)
endfunction()

# rig5_link_named(<target> <source>) - the system libraries that a comment line of the source asks
# for: "/* link: ibverbs mlx5 */".
function(rig5_link_named target source)
	file(STRINGS ${source} line REGEX "^/\\* link: .* \\*/$" LIMIT_COUNT 1)
	if(line)
		string(REGEX REPLACE "^/\\* link: (.*) \\*/$" "\\1" names "${line}")
		separate_arguments(names)
		target_link_libraries(${target} PRIVATE ${names})
	endif()
endfunction()
