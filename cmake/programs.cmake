# SPDX-License-Identifier: BSD-2-Clause
#
# The `rig5` command, the simulator's own programs, the benchmarks and the examples.

file(GLOB tool_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/*.c)
if(tool_sources)
	find_package(OpenSSL REQUIRED)
	add_executable(rig5 ${tool_sources})
	rig5_link_layers(rig5 ${RIG5_LAYERS})
	target_link_libraries(rig5 PRIVATE OpenSSL::Crypto)
	file(RELATIVE_PATH library_from_bin /x/${CMAKE_INSTALL_BINDIR} /x/${CMAKE_INSTALL_LIBDIR})
	target_compile_definitions(rig5 PRIVATE RIG5_VERSION="${PROJECT_VERSION}"
		RIG5_LIBRARY_FROM_BIN="${library_from_bin}"
		RIG5_PRELOAD_FIRST="${RIG5_PRELOAD_FIRST}")
	install(TARGETS rig5)
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/sim/sim_main.c)
	add_executable(sim_program sim/sim_main.c)
	set_target_properties(sim_program PROPERTIES OUTPUT_NAME sim)
	rig5_link_layers(sim_program sim kern nic abi fault base)
endif()

# What `make figures` plots.
if(EXISTS ${CMAKE_SOURCE_DIR}/sim/figures_main.c)
	add_executable(figures sim/figures_main.c)
	rig5_link_layers(figures sim kern nic abi fault base)
endif()

file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*_bench.c)
foreach(source IN LISTS bench_sources)
	cmake_path(GET source STEM name)
	add_executable(${name} ${source})
	set_target_properties(${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
	rig5_link_layers(${name} ${RIG5_LAYERS})
	rig5_link_named(${name} ${source})
endforeach()

# As a user would build them: the installed header's name, the shared library.
file(GLOB example_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.c)
foreach(source IN LISTS example_sources)
	cmake_path(GET source STEM name)
	add_executable(example_${name} ${source})
	set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
	target_include_directories(example_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
	target_link_libraries(example_${name} PRIVATE rig5_shared)
endforeach()
