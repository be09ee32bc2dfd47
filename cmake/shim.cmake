# SPDX-License-Identifier: BSD-2-Clause
#
# librig5_shim.so, which `rig5 run` preloads. Its own calls of what it exports are turned into those
# of shim/real.c by the linker; -z defs shows one that was forgotten.

set(shim_own ${shim_sources})
list(FILTER shim_own EXCLUDE REGEX "/shim/(tree|keeper|cpus)\\.c$")
file(STRINGS shim/shim.map shim_names REGEX "^\t[a-z_0-9]+;$")
list(TRANSFORM shim_names REPLACE "^\t([a-z_0-9]+);$" "-Wl,--wrap=\\1")

set(objects "")
foreach(layer soft kern nic host fault abi base)
	list(APPEND objects $<TARGET_OBJECTS:rig5_${layer}>)
endforeach()

set(map ${CMAKE_SOURCE_DIR}/shim/shim.map)
add_library(rig5_preload SHARED ${shim_own} ${objects})
set_target_properties(rig5_preload PROPERTIES OUTPUT_NAME rig5_shim LINKER_LANGUAGE C
	LINK_DEPENDS ${map})
target_compile_options(rig5_preload PRIVATE -fvisibility=hidden -U_FORTIFY_SOURCE)
target_link_options(rig5_preload PRIVATE -Wl,--version-script=${map} ${shim_names}
	-Wl,-z,relro,-z,now -Wl,-z,nodelete)
if(NOT RIG5_SANITIZE)
	target_link_options(rig5_preload PRIVATE -Wl,-z,defs)
endif()
target_link_libraries(rig5_preload PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
# A sanitizer's runtime has to come first in a program that was built without it.
set(RIG5_PRELOAD_FIRST "")
foreach(runtime asan tsan)
	if((RIG5_SANITIZE MATCHES "address" AND runtime STREQUAL asan) OR
			(RIG5_SANITIZE MATCHES "thread" AND runtime STREQUAL tsan))
		execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${runtime}.so
			OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
		file(REAL_PATH ${found} RIG5_PRELOAD_FIRST)
	endif()
endforeach()

install(TARGETS rig5_preload LIBRARY NAMELINK_SKIP)
