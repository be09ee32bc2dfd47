# SPDX-License-Identifier: BSD-2-Clause
#
# librig5.so and librig5.a, what pkg-config says of them, and `make install`.

set(objects "")
foreach(layer IN LISTS RIG5_LIBRARY_LAYERS)
	if("${layer}" IN_LIST RIG5_BUILT_LAYERS)
		list(APPEND objects $<TARGET_OBJECTS:rig5_${layer}>)
	endif()
endforeach()

if("lib" IN_LIST RIG5_BUILT_LAYERS)
	set(map ${CMAKE_SOURCE_DIR}/lib/librig5.map)
	add_library(rig5_shared SHARED ${objects})
	set_target_properties(rig5_shared PROPERTIES OUTPUT_NAME rig5 LINKER_LANGUAGE C
		VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map})
	# nodelete: the fault handler of host/guard.c stays installed for the life of the process.
	target_link_options(rig5_shared PRIVATE -Wl,--version-script=${map} -Wl,-z,relro,-z,now
		-Wl,-z,nodelete)
	if(NOT RIG5_SANITIZE)
		target_link_options(rig5_shared PRIVATE -Wl,-z,defs)
	endif()
	target_link_libraries(rig5_shared PRIVATE Threads::Threads)

	# The archive holds one object, in which all that is not declared in rig5.h is local: a
	# program's own base_x or nic_x cannot clash with ours.
	# Of objects for link-time optimization GCC has to make machine code first.
	set(whole ${CMAKE_BINARY_DIR}/librig5.o)
	set(join ${CMAKE_LINKER} -r)
	if(CMAKE_C_COMPILER_ID STREQUAL GNU)
		set(join ${CMAKE_C_COMPILER} -O2 -r -nostdlib -flinker-output=nolto-rel)
	endif()
	add_custom_command(OUTPUT ${whole}
		COMMAND ${join} -o ${whole} ${objects}
		COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
		DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM)
	add_library(rig5_static STATIC ${whole})
	set_target_properties(rig5_static PROPERTIES OUTPUT_NAME rig5 LINKER_LANGUAGE C)

	# The .pc file finds its prefix from its own place, so that a tree can be moved.
	file(RELATIVE_PATH RIG5_PC_PREFIX /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
	configure_file(${CMAKE_SOURCE_DIR}/cmake/rig5.pc.in ${CMAKE_BINARY_DIR}/rig5.pc @ONLY)

	install(TARGETS rig5_shared rig5_static)
	install(FILES ${CMAKE_BINARY_DIR}/rig5.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/include/rig5.h)
	install(FILES ${CMAKE_SOURCE_DIR}/include/rig5.h ${CMAKE_SOURCE_DIR}/include/rig5_stats.h
		TYPE INCLUDE)
endif()
foreach(section 1 3 7)
	file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.${section})
	install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
