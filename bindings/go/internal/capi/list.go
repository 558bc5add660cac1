package capi

// #include "queue.h"
import "C"

// List is readpast_list, with settings: JSON.
func List(settings [][2]string) (string, *Failure) {
	with, failure := config(settings)
	if failure != nil {
		return "", failure
	}
	defer freeConfig(with)
	return madeText(C.list(with))
}

// Drop is readpast_drop, with settings.
func Drop(settings [][2]string, queue string) *Failure {
	with, failure := config(settings)
	if failure != nil {
		return failure
	}
	defer freeConfig(with)
	var texts Texts
	place := texts.Add("the name of the queue", queue)
	if failure := texts.failure(); failure != nil {
		return failure
	}
	return failed(C.drop(with, texts.pointer(place)))
}
